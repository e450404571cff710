# Calls the tools of the service by the Python SDK of the Model Context Protocol, in both generations of the protocol.
import asyncio
import os
import uuid

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

SITE = os.environ["SITE_URL"]
URL = f"{os.environ['API_URL']}/mcp"


async def call_all(mode: str) -> None:
    headers = {"Authorization": f"Bearer {os.environ['API_KEY']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names[0] == "check_urls" and len(names) == 8, names

            key = str(uuid.uuid4())
            arguments = {"urls": [f"{SITE}/{n}" for n in range(3)], "idempotency_key": key}
            checked = (await client.call_tool("check_urls", arguments)).structured_content
            assert checked["status"] == "completed" and checked["verdicts"] == {"ok": 3}, checked
            again = (await client.call_tool("check_urls", arguments)).structured_content
            assert again["job_id"] == checked["job_id"], again

            found, cursor = [], ""
            while cursor is not None:
                page = {"job_id": checked["job_id"], "limit": 2, "cursor": cursor}
                answer = (await client.call_tool("get_results", page)).structured_content
                found += [result["url"] for result in answer["results"]]
                cursor = answer["next_cursor"]
            assert found == arguments["urls"], found

            wrong = await client.call_tool("check_urls", {"urls": []})
            assert wrong.is_error and wrong.structured_content["error"]["code"] == "validation_error", wrong
            usage = (await client.call_tool("get_usage", {})).structured_content
            assert usage["available_credits"] > 0, usage


for mode in ("legacy", "auto", "2026-07-28"):
    asyncio.run(call_all(mode))
