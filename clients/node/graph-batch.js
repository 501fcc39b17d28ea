// Microsoft's Graph client, reading in batches of 20.
import { Client } from '@microsoft/microsoft-graph-client';
import { most, readBatch } from './batches.js';
import { base, each, save, urls } from './drill.js';

const client = Client.init({
	baseUrl: base,
	defaultVersion: 'v1.0',
	authProvider: (done) => done(null, process.env.DRILL_TOKEN || 'none'),
	customHosts: new Set([new URL(base).hostname]),
});

const batches = [];
for (let i = 0; i < urls.length; i += most) {
	batches.push(urls.slice(i, i + most));
}
await each(batches, (batch) =>
	readBatch(client, batch, async (url, answer) => save(url, Buffer.from(await answer.text(), 'base64'))),
);
