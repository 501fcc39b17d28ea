// Microsoft's Graph client, reading a drive: PageIterator goes through its delta, batches of 20
// ask for the content of its files, and each signed link that they answer with is read at once,
// without the credential.
import { Client, PageIterator } from '@microsoft/microsoft-graph-client';
import { readFile } from 'node:fs/promises';
import { most, readBatch } from './batches.js';
import { base, save } from './drill.js';

const client = Client.init({
	baseUrl: base,
	defaultVersion: 'v1.0',
	authProvider: (done) => readFile(process.env.DRILL_TOKEN_FILE, 'utf8').then((token) => done(null, token), done),
	customHosts: new Set([new URL(base).hostname]),
});

// A file that comes twice would be asked for twice.
const files = [];
const first = await client.api('/me/drive/root/delta').get();
const pages = new PageIterator(client, first, (item) => {
	if (item.file) {
		files.push(item);
	}
	return true;
});
await pages.iterate();
if (!pages.isComplete() || !pages.getDeltaLink()) {
	throw new Error('the delta has no end');
}

// content is the address of a file's content, relative to the batch but for the host.
const content = (item) => `${base}/drives/${item.parentReference.driveId}/items/${item.id}/content`;
const sizes = new Map(files.map((item) => [content(item), item.size]));

async function take(url, answer) {
	const link = answer.headers.get('Location');
	const response = await fetch(link);
	if (!response.ok) {
		throw new Error(`status ${response.status} of a link`);
	}
	const bytes = await response.arrayBuffer();
	if (bytes.byteLength !== sizes.get(url)) {
		throw new Error(`${bytes.byteLength} bytes, and the delta says ${sizes.get(url)}`);
	}
	await save(link, bytes);
}

for (let i = 0; i < files.length; i += most) {
	await readBatch(client, files.slice(i, i + most).map(content), take);
}
