// The limits of an upload. Settings override the defaults, which the guides document.

export interface IntakeLimits {
  /** Unique URLs that a job may have. */
  max_urls: number;
  /** UTF-16 code units of a URL as submitted, trimmed. */
  max_url_chars: number;
  max_file_bytes: number;
  /** Inflated bytes of all parts read of a workbook. */
  max_inflated_bytes: number;
  /** Characters of one row of a text file, which has to be in memory at once. */
  max_row_chars: number;
}

/** The limits, under intake's names for the settings. */
export const limitsOf = (settings: {
  readonly max_urls_per_job: number;
  readonly max_url_chars: number;
  readonly max_file_bytes: number;
  readonly max_inflated_bytes: number;
}) => ({
  max_urls: settings.max_urls_per_job,
  max_url_chars: settings.max_url_chars,
  max_file_bytes: settings.max_file_bytes,
  max_inflated_bytes: settings.max_inflated_bytes,
});

export const DEFAULT_LIMITS: Readonly<IntakeLimits> = {
  max_urls: 1_000_000,
  max_url_chars: 2_048,
  max_file_bytes: 100 * 1024 ** 2,
  max_inflated_bytes: 1024 ** 3,
  max_row_chars: 1_000_000,
};
