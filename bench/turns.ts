// Watches how long the event loop of this thread is held, in processor time, which other work of the machine does not lengthen.

/** This thread's processor time in ms since the last call, which the end of each turn makes. */
export function watchTurns(): { longest(): number } {
  let longest_us = 0;
  let before_us = threadUs();
  function look(): void {
    const now_us = threadUs();
    longest_us = Math.max(longest_us, now_us - before_us);
    before_us = now_us;
  }
  const timer = setInterval(look, 1);
  return {
    longest() {
      clearInterval(timer);
      look();
      return longest_us / 1000;
    },
  };
}

function threadUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
