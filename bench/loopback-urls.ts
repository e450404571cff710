// Lists of URLs on loopback addresses, in an order in which hosts alternate: the hardest for whoever keeps connections.

/** `hosts` at most 60,000. */
export function urlsOver(hosts: number, count: number, port: number, path = '/pages/page-'): string[] {
  return Array.from({ length: count }, (_, i) => {
    const host = i % hosts;
    return `http://127.1.${Math.floor(host / 250)}.${1 + (host % 250)}:${port}${path}${i}`;
  });
}

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;
}
