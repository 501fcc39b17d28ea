// Octokit with its throttling plugin; with --retry, with its retry plugin too, as the octokit
// package puts them together.
import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import { base, each, headers, save, urls } from './drill.js';

const again = (retryAfter, options, octokit, retryCount) => retryCount < 5;

const plugins = process.argv.includes('--retry') ? [retry, throttling] : [throttling];
const MyOctokit = Octokit.plugin(...plugins);
const octokit = new MyOctokit({
	baseUrl: base,
	throttle: { onRateLimit: again, onSecondaryRateLimit: again },
});

await each(urls, async (url) => {
	const response = await octokit.request(`GET ${new URL(url).pathname}`, { headers });
	await save(url, response.data);
});
