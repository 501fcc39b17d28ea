// Node's fetch with fetch-retry, set up as its README shows for statuses and for back-off.
import fetchRetry from 'fetch-retry';
import { each, headers, save, urls } from './drill.js';

const fetch = fetchRetry(globalThis.fetch, {
	retries: 5,
	retryOn: [429, 503],
	retryDelay: (attempt) => Math.pow(2, attempt) * 1000,
});

await each(urls, async (url) => {
	const response = await fetch(url, { headers });
	if (!response.ok) {
		throw new Error(`status ${response.status}`);
	}
	await save(url, await response.arrayBuffer());
});
