// Microsoft's Graph client with its default middleware, whose RetryHandler is as it comes.
import { Client, ResponseType } from '@microsoft/microsoft-graph-client';
import { base, each, save, urls } from './drill.js';

const client = Client.init({
	baseUrl: base,
	defaultVersion: '', // the addresses of documents have none
	authProvider: (done) => done(null, process.env.DRILL_TOKEN || 'none'),
	customHosts: new Set([new URL(base).hostname]),
});

await each(urls, async (url) => {
	const body = await client.api(new URL(url).pathname).responseType(ResponseType.ARRAYBUFFER).get();
	await save(url, body);
});
