// Answers without an end, of bytes that a parser reads and that belong to no header and to no body.
import type { Socket } from 'node:net';

export const SPACES = 'HTTP/1.1 200';
export const CHUNK_EXTENSION = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5;';

const PIECE = ' '.repeat(64 * 1024);

/** Answers with the head, and then with spaces until the other side leaves. */
export function flood(socket: Socket, head: string): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(PIECE));
  };
  socket.on('drain', more);
  socket.write(head);
  more();
}
