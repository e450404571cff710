// The files of a connection by TLS: an authority other than those that Node knows, and a certificate that the service shows.

/** Absolute paths of files in PEM; null where there is none. A certificate has its key. */
export interface TlsFiles {
  /** The authorities that the server's certificate must come from; null: those that Node knows. */
  ca_file: string | null;
  cert_file: string | null;
  key_file: string | null;
}

/** Whether any file is given: the connection is by TLS then, whatever its URL says. */
export const hasTlsFiles = (files: TlsFiles | undefined): files is TlsFiles =>
  files !== undefined && Object.values(files).some((file) => file !== null);
