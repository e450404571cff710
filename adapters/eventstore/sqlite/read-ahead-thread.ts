// Entry of the thread that reads ahead: sends a page of rows at each message, and null at the end.
import { parentPort, workerData } from 'node:worker_threads';
import { connectToRead, whenLogIsFree } from './connection.ts';
import { LogPages } from './pages.ts';
import { toPosition } from './position.ts';
import type { OpenPacker, ReadAheadData } from './read-ahead.ts';

const { path, filter, from, end, packer } = workerData as ReadAheadData;
const port = parentPort!;
const { openPacker } = (await import(packer)) as { openPacker: OpenPacker<object> };
const pack = openPacker(toPosition);
const db = await connectToRead(path);
const pages = new LogPages(db, filter);
let reached = from;
let last: Promise<void> = Promise.resolve();

async function sendPage(): Promise<void> {
  while (reached < end) {
    const page = await whenLogIsFree(() => pages.readRows(reached, end));
    reached = page.reached;
    if (page.rows.length === 0) continue;
    const packed = pack(page.rows);
    const moved = Object.values(packed).filter((field) => ArrayBuffer.isView(field));
    port.postMessage(
      packed,
      moved.map(({ buffer }) => buffer as ArrayBuffer),
    );
    return;
  }
  port.postMessage(null);
}

// A rejection ends the thread, and its owner gets the error.
port.on('message', () => {
  last = last.then(sendPage);
});
