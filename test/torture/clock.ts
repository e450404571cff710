// Loaded into a process before the service (`node --import`), in each of its threads: the wall clock then goes wrong by as
// many milliseconds as the file named by CLOCK_FILE says. The monotonic clock stays as it is.
import { readFileSync } from 'node:fs';

const LOOK_MS = 20;
const file = process.env.CLOCK_FILE;
const RealDate = Date;
let offset_ms = 0;

function look(): void {
  try {
    offset_ms = Number(readFileSync(file!, 'utf8')) || 0;
  } catch {
    // It is being written, or was removed: the clock stays as it is.
  }
}

if (file) {
  look();
  setInterval(look, LOOK_MS).unref();
  const now = () => RealDate.now() + offset_ms;
  globalThis.Date = new Proxy(RealDate, {
    apply: () => new RealDate(now()).toString(),
    construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
}
