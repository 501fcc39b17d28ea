// Batches of 20 as Microsoft's Graph client puts them together. The client itself does not send
// the items again that were throttled; this does, as Microsoft's throttling guidance says: those
// alone, in a new batch, after the longest Retry-After among them.
import { BatchRequestContent, BatchResponseContent } from '@microsoft/microsoft-graph-client';
import { setTimeout as wait } from 'node:timers/promises';

export const most = 20;

// post sends one batch and returns the answers by address.
async function post(client, batch) {
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

// readBatch asks for addresses, at most 20, and gives each answer that is no refusal to take.
export async function readBatch(client, batch, take) {
	for (let tries = 0; batch.length > 0; tries++) {
		const again = [];
		let seconds = 0;
		for (const [url, answer] of await post(client, batch)) {
			if (answer.status === 429 && tries < 5) {
				again.push(url);
				seconds = Math.max(seconds, secondsOf(answer.headers.get('Retry-After')));
			} else if (answer.status >= 400) {
				throw new Error(`status ${answer.status}`);
			} else {
				await take(url, answer);
			}
		}
		if (again.length > 0) {
			await wait(seconds * 1000);
		}
		batch = again;
	}
}
