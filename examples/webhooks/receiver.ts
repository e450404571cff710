// Receives webhooks and prints those that the service signed (Node 24): node receiver.ts PORT SECRET
import { createServer } from 'node:http';
import { verify } from './verify.ts';

const [port, secret = ''] = process.argv.slice(2);
/** In production, store the ids in a database, in the transaction that does the work. */
const handled = new Set<string>();

const server = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  const header = (name: string) => String(request.headers[name] ?? '');
  try {
    verify(body, header('service-signature'), secret);
  } catch {
    response.writeHead(401).end('this is not signed as it should be');
    return;
  }
  // First the answer, then the work.
  response.writeHead(200).end('thank you');
  const event_id = header('service-event-id');
  process.stdout.write(handled.has(event_id) ? `again: ${event_id}\n` : `${body}\n`);
  handled.add(event_id);
});
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('listening\n'));
