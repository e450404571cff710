// What a page is given.
export interface PageProps {
  /** The parts of the path that its pattern names. */
  params: Readonly<Record<string, string>>;
}
