"""httpx in asyncio tasks, with the transport of httpx-retries as its README sets it up."""

import asyncio
import sys

import httpx
from httpx_retries import Retry, RetryTransport

import drill


async def work(client, urls):
    ok = True
    for url in urls:
        try:
            answer = await client.get(url)
            answer.raise_for_status()
            drill.save(url, answer.content)
        except Exception as err:
            ok = drill.said(url, err)
    return ok


async def main():
    transport = RetryTransport(retry=Retry(total=5, backoff_factor=0.5))
    rest = iter(drill.urls)
    async with httpx.AsyncClient(transport=transport, headers=drill.headers, timeout=30, follow_redirects=True) as client:
        return all(await asyncio.gather(*(work(client, rest) for _ in range(drill.workers))))


sys.exit(0 if asyncio.run(main()) else 1)
