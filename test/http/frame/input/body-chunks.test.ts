// A body at the pace of its client: one that does not begin, drips, or comes in crumbs is refused; one that is only slow is read.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import pino from 'pino';
import { HttpError } from '../../../../http/frame/errors.ts';
import { awaitContinue, bodyChunks, type Pace } from '../../../../http/frame/input/body-chunks.ts';
import { startServer } from '../../../../http/server/server.ts';

const NEVER_MS = 60_000;

/** Sends the head, and gives what the server has read, or how it refused. `more` is sent at each chunk that is taken. */
async function read(t: ExecutionContext, pace: Pace, head: string[], more: string[]): Promise<string> {
  const outcome = Promise.withResolvers<string>();
  let client: Socket;
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const taken: Buffer[] = [];
    try {
      for await (const chunk of bodyChunks({ req: request, res: response }, pace)) {
        taken.push(chunk);
        if (more.length > 0) client.write(more.shift()!);
      }
      outcome.resolve(`read ${Buffer.concat(taken)}`);
    } catch (error) {
      outcome.resolve(error instanceof HttpError ? `${error.status} ${error.code}` : (error as Error).message);
    }
    response.end();
  };
  const server = createServer(handle).on('checkContinue', (request, response) => {
    awaitContinue(request);
    void handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = connect((server.address() as { port: number }).port, '127.0.0.1');
  t.teardown(() => {
    client.destroy();
    server.close();
  });
  client.write(`POST / HTTP/1.1\r\nHost: a\r\n${head.join('\r\n')}`);
  return await outcome.promise;
}

const LENGTH = 'Content-Length: 3';

test('the service refuses a body that does not begin', async (t) => {
  const pace = { begin_ms: 20, more_ms: NEVER_MS, bytes: 10 };
  t.is(await read(t, pace, [LENGTH, '', ''], []), '408 too_slow');
});

test('the service refuses a body that does not begin after 100 Continue', async (t) => {
  const pace = { begin_ms: 20, more_ms: NEVER_MS, bytes: 10 };
  t.is(await read(t, pace, [LENGTH, 'Expect: 100-continue', '', ''], []), '408 too_slow');
});

test('the service refuses a body that stops before its end', async (t) => {
  const pace = { begin_ms: NEVER_MS, more_ms: 20, bytes: 10 };
  t.is(await read(t, pace, [LENGTH, '', 'a'], ['b']), '408 too_slow');
});

test('the service refuses a body that comes too slowly, byte by byte', async (t) => {
  const drip = Array.from({ length: 100_000 }, () => 'b');
  const pace = { begin_ms: NEVER_MS, more_ms: 50, bytes: 1_000_000 };
  t.is(await read(t, pace, ['Content-Length: 1000000', '', 'a'], drip), '408 too_slow');
});

test('the service reads a body that comes in pieces', async (t) => {
  const pace = { begin_ms: NEVER_MS, more_ms: NEVER_MS, bytes: 10 };
  t.is(await read(t, pace, [LENGTH, '', 'a'], ['b', 'c']), 'read abc');
});

test('a client that leaves during its body does not count as slow', async (t) => {
  const outcome = Promise.withResolvers<string>();
  const server = createServer(async (req, res) => {
    const reading = bodyChunks({ req, res });
    await reading.next();
    client.destroy();
    reading.next().catch((error: { code: string }) => outcome.resolve(error.code));
  });
  t.teardown(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  client.write(`POST / HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\na`);
  t.is(await outcome.promise, 'client_gone');
});

/** What a server answers to a body of so many chunks of so many bytes. */
async function chunked(t: ExecutionContext, count: number, bytes: number): Promise<string> {
  const app = new Koa();
  app.use(async (ctx) => {
    let read_bytes = 0;
    for await (const chunk of bodyChunks(ctx)) read_bytes += chunk.length;
    ctx.body = `${read_bytes} bytes`;
  });
  app.silent = true;
  const server = await startServer(app, { host: '127.0.0.1', port: 0, log: pino({ level: 'silent' }) });
  t.teardown(() => server.close());
  const client = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {});
  t.teardown(() => client.destroy());
  client.write('POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n');
  client.write(`${`${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`.repeat(count)}0\r\n\r\n`);
  return await new Promise((resolve) => {
    let text = '';
    client.on('data', (data) => (text += data)).once('close', () => resolve(text));
  });
}

test('the server refuses a body in thousands of one-byte chunks', async (t) => {
  t.regex(await chunked(t, 12_000, 1), /^HTTP\/1\.1 400 .*"chunks_too_small"/s);
});

test('the server reads a body in thousands of chunks of a line', async (t) => {
  t.regex(await chunked(t, 12_000, 40), /^HTTP\/1\.1 200 .*480000 bytes/s);
});

test('the server reads a short body in one-byte chunks', async (t) => {
  t.regex(await chunked(t, 1000, 1), /^HTTP\/1\.1 200 .*1000 bytes/s);
});
