import type { CofferError } from '../base/errors.ts';

/** An error for a person in front of a browser, without a script or a style. */
export function errorPage({ code, message }: CofferError, requestId: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>This did not work</title></head>
<body>
<main>
<h1>This did not work</h1>
<p>${escaped(message)}</p>
<p>If you ask somebody for help, tell them <code>${escaped(code)}</code> and <code>${escaped(requestId)}</code>.</p>
</main>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
