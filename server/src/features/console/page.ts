import type { Manifest } from './console-files.ts';

/** The page may load its own scripts and style and call this service, nothing else. No script may turn a text into HTML or code. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "trusted-types 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': PAGE_POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'X-Frame-Options': 'DENY',
};

const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect x="3" y="7" width="26" height="20" rx="4" fill="#0f766e"/><path d="M10 7V5a2 2 0 0 1 2-2h8a2 2 0 0 1 2 2v2" fill="none" stroke="#0f766e" stroke-width="3"/><circle cx="16" cy="16" r="3.5" fill="#fff"/><path d="M16 18v5" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>',
)}`;

/** File names contain letters, digits, dots and dashes only, so nothing has to be escaped. */
export function consolePage(
  { script, style, frameStyle, icons, preload, framePreload }: Manifest,
  isFirstStart: boolean,
): string {
  const isFirst = isFirstStart ? ' data-first-start' : '';
  const preloads = preload.map((name) => `<link rel="modulepreload" href="/console/script/${name}">`).join('');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Coffer</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="/console/style/${style}">
${preloads}<script type="module" src="/console/script/${script}"></script>
</head>
<body>
<div id="app" data-icons="${icons}" data-sheet="${frameStyle}" data-scripts="${framePreload.join(' ')}"${isFirst}></div>
<noscript>The console needs JavaScript. The command line and the API work without it: see <a href="/docs">/docs</a>.</noscript>
</body>
</html>
`;
}
