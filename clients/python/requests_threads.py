"""requests over urllib3 in threads, with the Retry that urllib3 documents."""

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

import drill

retry = Retry(total=5, backoff_factor=1, status_forcelist=[429, 503], respect_retry_after_header=True)
session = requests.Session()
session.headers.update(drill.headers)
session.mount("http://", HTTPAdapter(max_retries=retry, pool_maxsize=drill.workers))


def read(url):
    answer = session.get(url, timeout=30)
    answer.raise_for_status()
    return answer.content


drill.each(read)
