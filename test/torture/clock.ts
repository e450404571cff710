// Loaded into a process before the service (`node --import`), in each of its threads: the wall clock then goes wrong by as
// many milliseconds as the file named by CLOCK_FILE says. The monotonic clock stays as it is.
import { readFileSync, watch } from 'node:fs';

const file = process.env.CLOCK_FILE;
const RealDate = Date;
let offset_ms = 0;

function look(): void {
  // It is empty for a moment while it is written: the clock stays as it is.
  offset_ms = Number(readFileSync(file!, 'utf8') || offset_ms);
}

if (file) {
  // It hears of each change at once. To look at the file all the time took a tenth of the processor time of a torture.
  watch(file, { persistent: false }, look);
  look();
  const now = () => RealDate.now() + offset_ms;
  globalThis.Date = new Proxy(RealDate, {
    apply: () => new RealDate(now()).toString(),
    construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
}
