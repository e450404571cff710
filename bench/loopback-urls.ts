// Lists of URLs on loopback addresses whose hosts alternate, which is the hardest order for connection pools.

/** `hosts` at most 60,000. */
export function urlsOver(
  hosts: number,
  count: number,
  port: number,
  path = '/things/thing-',
  scheme = 'http',
): string[] {
  return Array.from({ length: count }, (_, i) => {
    return `${scheme}://${addressOf(i % hosts)}:${port}${path}${i}`;
  });
}

export const addressOf = (host: number) => `127.1.${Math.floor(host / 250)}.${1 + (host % 250)}`;

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;
}
