// Passes the messages of a client of MCP, a line each, to `POST /mcp` of a service, and its answers back. Messages are answered beside each other.
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

interface Message {
  id?: unknown;
  method?: string;
  params?: { name?: string; uri?: string; taskId?: string; requestId?: unknown; _meta?: Record<string, unknown> };
  result?: { protocolVersion?: string };
}

const VERSION = 'io.modelcontextprotocol/protocolVersion';
/** JSON-RPC's for what the server cannot do, and for what is no JSON. */
const [INTERNAL_ERROR, PARSE_ERROR] = [-32603, -32700];

/** Resolves when the input has ended and all its messages are answered. */
export async function passMessages(url: string, credentials: string, input: Readable, output: Writable): Promise<void> {
  const endpoint = `${url.replace(/\/$/, '')}/mcp`;
  const write = (answer: object) => void output.write(`${JSON.stringify(answer)}\n`);
  const refuse = (id: unknown, code: number, message: string) =>
    write({ jsonrpc: '2.0', id: id ?? null, error: { code, message } });
  /** What a client of 2025 agreed upon with `initialize`; those of later say it in each message. */
  let agreed: string | undefined;
  const under_way = new Map<unknown, AbortController>();

  async function answer(message: Message): Promise<void> {
    const { id, method, params } = message;
    const stop = new AbortController();
    if (id !== undefined) under_way.set(id, stop);
    const version = params?._meta?.[VERSION] ?? agreed;
    const name = params?.name ?? params?.uri ?? params?.taskId;
    const headers = {
      authorization: `Bearer ${credentials}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(typeof version === 'string' && { 'mcp-protocol-version': version }),
      ...(method !== undefined && { 'mcp-method': method }),
      ...(name !== undefined && { 'mcp-name': headerText(name) }),
    };
    try {
      const response = await fetch(endpoint, {
        method: 'POST',
        headers,
        body: JSON.stringify(message),
        signal: stop.signal,
      });
      const is_stream = response.headers.get('content-type')?.startsWith('text/event-stream');
      const text = await response.text();
      const answers = is_stream ? eventsOf(text) : text === '' ? [] : [text];
      for (const one of answers.map((text): Message => JSON.parse(text))) {
        if (method === 'initialize') agreed = one.result?.protocolVersion;
        // What is refused before it is read has no id.
        if (id !== undefined) write({ ...one, id: one.id ?? (one.method === undefined ? id : undefined) });
      }
    } catch (error) {
      if (id !== undefined && !stop.signal.aborted)
        refuse(id, INTERNAL_ERROR, `The service at ${url} cannot be reached: ${reasonOf(error)}.`);
    } finally {
      under_way.delete(id);
    }
  }

  const answering = new Set<Promise<void>>();
  for await (const line of createInterface({ input })) {
    if (line.trim() === '') continue;
    const message = parsed(line);
    if (message === null) {
      refuse(null, PARSE_ERROR, 'The line is not a JSON object.');
      continue;
    }
    // A service without sessions does not know what it is told to cancel; it notices who leaves.
    if (message.method === 'notifications/cancelled') under_way.get(message.params?.requestId)?.abort();
    const one = answer(message).finally(() => answering.delete(one));
    answering.add(one);
    // What a client of 2025 sends next is in the version that it agreed upon.
    if (message.method === 'initialize') await one;
  }
  await Promise.all(answering);
}

function parsed(line: string): Message | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** The data of each event of a stream. */
const eventsOf = (text: string): string[] =>
  text
    .split(/\r?\n\r?\n/)
    .map((event) => event.split(/\r?\n/).flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trim()] : [])))
    .map((lines) => lines.join('\n'))
    .filter((data) => data !== '');

/** A header takes visible ASCII; the protocol has a form for other names. */
const headerText = (name: string): string =>
  /^[\x20-\x7e]+$/.test(name) && name === name.trim() ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`;

const reasonOf = (error: unknown): string => {
  const { cause, message } = error as Error;
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? message;
};
