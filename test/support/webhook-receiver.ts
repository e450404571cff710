// A receiver of webhooks on the loopback, which keeps what it gets.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import Stripe from 'stripe';
import { closeHttp, listenOnLoopback } from './loopback.ts';

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** What it answers next, and from then on; null: nothing. */
  status: number | null;
  close(): Promise<void>;
}

export async function openReceiver(): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    receiver.received.push({ headers: request.headers, body });
    if (receiver.status !== null) response.writeHead(receiver.status).end(`answered ${receiver.status}`);
  });
  const port = await listenOnLoopback(server);
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received: [],
    status: 200,
    close: () => closeHttp(server),
  };
  return receiver;
}

/** As Stripe's own library reads it, which throws when it is not signed with this secret. */
export function verified({ headers, body }: Received, secret: string) {
  return Stripe.webhooks.constructEvent(body, headers['service-signature']!, secret) as unknown as {
    id: string;
    type: string;
    data: { job_id: string };
  };
}
