// What every client here needs of the drill: the addresses, so many tasks, a folder, and a
// token where one is needed.
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const base = process.env.DRILL_BASE;
export const urls = readFileSync(process.env.DRILL_LIST, 'utf8').split('\n').filter(Boolean);
export const headers = process.env.DRILL_TOKEN ? { authorization: `Bearer ${process.env.DRILL_TOKEN}` } : {};
const workers = Number(process.env.DRILL_WORKERS);

// save writes what was read from an address.
export function save(url, bytes) {
	const name = new URL(url).pathname.split('/').pop();
	return writeFile(join(process.env.DRILL_OUT, name), Buffer.from(bytes));
}

// each calls read for each of the items, as many at a time as there are workers. What fails
// is said, and the exit code is 1 then.
export async function each(items, read) {
	const rest = items.values();
	const work = async () => {
		for (const item of rest) {
			try {
				await read(item);
			} catch (err) {
				console.error(`${item}: ${err.message}`);
				process.exitCode = 1;
			}
		}
	};
	await Promise.all(Array.from({ length: workers }, work));
}
