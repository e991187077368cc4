/** The page loads its own script and style and calls this service, nothing else. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Nothing of the link is passed on, cached or found by a search engine. */
export const SHARE_PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'X-Frame-Options': 'DENY',
  'X-Robots-Tag': 'noindex, nofollow',
};

/** The same for every link: it is not looked up until somebody clicks. */
export const SHARE_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>Something was shared with you</title>
<link rel="stylesheet" href="style.css">
<script type="module" src="script.js"></script>
</head>
<body>
<main>
<h1>Something was shared with you</h1>
<p id="said" role="status">It may open only once. Open it when you can store it.</p>
<form id="passphrase" hidden><label>Passphrase <input type="password" autocomplete="off"></label> <button>Unlock</button></form>
<p><button id="open" type="button">Open</button> <button id="copy" type="button" hidden>Copy</button></p>
<pre id="value" hidden></pre>
<noscript><p>Opening it needs JavaScript, or the command line: coffer share open LINK</p></noscript>
</main>
</body>
</html>
`;
