// A URL out of a result. It is a link only for the schemes that lead to a page, and tells that page nothing of this one.
const LINKED: readonly unknown[] = ['http:', 'https:'];

export function ResultLink({ url }: { url: string }) {
  if (!LINKED.includes(URL.parse(url)?.protocol)) return <bdi>{url}</bdi>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer nofollow">
      <bdi>{url}</bdi>
    </a>
  );
}
