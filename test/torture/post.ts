// The mail server of the torture: it takes mails, or refuses their sender, as one does whose settings are wrong.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

export interface Post {
  url: string;
  /** The texts of the mails that it took, with their headers. */
  taken: string[];
  refuses: boolean;
  close(): Promise<void>;
}

export async function openPost(): Promise<Post> {
  const server = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    onMailFrom(_address, _session, done) {
      const refusal = Object.assign(new Error('Sender address rejected'), { responseCode: 550 });
      done(post.refuses ? refusal : undefined);
    },
    async onData(stream, _session, done) {
      post.taken.push(await text(stream));
      done();
    },
  });
  server.on('error', () => {}); // its client was killed
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const post: Post = {
    url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    taken: [],
    refuses: false,
    close: () => new Promise((closed) => server.close(() => closed())),
  };
  return post;
}
