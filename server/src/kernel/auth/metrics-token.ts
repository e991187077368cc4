const BEARER = 'bearer ';
const PREFIX = 'cv_metrics_';
const FORM = /^cv_metrics_[A-Za-z0-9_-]{32,256}$/;

/** The token of a request with `Authorization: Bearer`. */
export function bearerOf(authorization: string | undefined): string | null {
  if (authorization?.slice(0, BEARER.length).toLowerCase() !== BEARER) return null;
  return authorization.slice(BEARER.length);
}

/** Whether the text is meant as the token of CV_METRICS_TOKEN. */
export function isMetricsToken(text: string): boolean {
  return text.startsWith(PREFIX);
}

export const metricsToken = {
  expects: `\`${PREFIX}\` and 32 to 256 letters, digits, hyphens or underscores, such as ${PREFIX}$(openssl rand -hex 32)`,
  parse: (written: string) => (FORM.test(written) ? written : undefined),
};
