// Microsoft's Graph client, reading in batches of 20. The client itself does not send the
// items again that were throttled; this does, as Microsoft's throttling guidance says: those
// alone, in a new batch, after the longest Retry-After among them.
import { BatchRequestContent, BatchResponseContent, Client } from '@microsoft/microsoft-graph-client';
import { setTimeout as wait } from 'node:timers/promises';
import { base, each, save, urls } from './drill.js';

const client = Client.init({
	baseUrl: base,
	defaultVersion: 'v1.0',
	authProvider: (done) => done(null, process.env.DRILL_TOKEN || 'none'),
	customHosts: new Set([new URL(base).hostname]),
});

// post sends one batch and returns the answers by address.
async function post(batch) {
	const content = new BatchRequestContent(batch.map((url, i) => ({ id: String(i + 1), request: new Request(url) })));
	const body = await client.api('/$batch').post(await content.getContent());
	const answers = new BatchResponseContent(body);
	return batch.map((url, i) => [url, answers.getResponseById(String(i + 1))]);
}

// secondsOf reads a Retry-After; without one it is a second.
function secondsOf(hint) {
	if (hint === null) {
		return 1;
	}
	return Number(hint) || (new Date(hint).getTime() - Date.now()) / 1000 || 1;
}

async function read(batch) {
	for (let tries = 0; batch.length > 0; tries++) {
		const again = [];
		let seconds = 0;
		for (const [url, answer] of await post(batch)) {
			if (answer.ok) {
				await save(url, Buffer.from(await answer.text(), 'base64'));
			} else if (answer.status === 429 && tries < 5) {
				again.push(url);
				seconds = Math.max(seconds, secondsOf(answer.headers.get('Retry-After')));
			} else {
				throw new Error(`status ${answer.status}`);
			}
		}
		if (again.length > 0) {
			await wait(seconds * 1000);
		}
		batch = again;
	}
}

const batches = [];
for (let i = 0; i < urls.length; i += 20) {
	batches.push(urls.slice(i, i + 20));
}
await each(batches, read);
