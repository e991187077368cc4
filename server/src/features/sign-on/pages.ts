import type { Context } from '../../kernel/request/context.ts';

/** Pages without a script or a style. Their forms are sent to this service only. */
const FORM_POLICY = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

export function asPage(ctx: Context): void {
  ctx.setHeader('Content-Security-Policy', FORM_POLICY);
}

function page(title: string, body: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title>${head}</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${body}
</main>
</body>
</html>
`;
}

export function codePage(provider: string, tenant: string | undefined): string {
  const hidden = tenant === undefined ? '' : hiddenField('tenant', tenant);
  return page(
    'Sign in to Coffer',
    `<form method="post" action="/auth/sso/${escaped(encodeURIComponent(provider))}">
${hidden}${codeField('The code that your command line shows')}
<p><button>Continue with ${escaped(provider)}</button></p>
</form>`,
  );
}

/** A page and no redirect, because browsers apply the form policy to redirects too, and the provider's address is not known before. */
export function onwardPage(url: URL): string {
  const address = escaped(url.href);
  return page(
    'Continue at your identity provider',
    `<p><a href="${address}" rel="noreferrer">Continue at ${escaped(url.host)}</a></p>`,
    `<meta http-equiv="refresh" content="0;url=${address}">`,
  );
}

/** What the provider sent with the browser. */
interface Answer {
  code: string;
  state: string;
  iss?: string | undefined;
}

/** Back to the console, which finishes the sign-in. What the provider sent is in the part of the address that browsers keep to themselves. */
export function returnPage(
  to: 'signed-on' | 'linked',
  { code, state, iss, redirect_uri }: Answer & { redirect_uri: string },
): string {
  const query = new URLSearchParams({ code, state, ...(iss !== undefined && { iss }), redirect_uri });
  const address = escaped(`/#/${to}?${query}`);
  return page(
    to === 'linked' ? 'Your account is being linked' : 'You are being signed in',
    `<p><a href="${address}">Continue to the console</a></p>`,
    `<meta http-equiv="refresh" content="0;url=${address}">`,
  );
}

/** The code is not shown: somebody who did not begin this sign-in, and whose browser was led here, has no command line to read it from. */
export function confirmPage(address: string, { code, state, iss }: Answer, callback: string): string {
  return page(
    'Is this your command line?',
    `<p>It was started from the address ${escaped(address)}, and will be able to do everything that you may do. If you did not start it yourself, close this page.</p>
<form method="post" action="${escaped(callback)}">
${hiddenField('code', code)}${hiddenField('state', state)}${iss === undefined ? '' : hiddenField('iss', iss)}${codeField('Type the code again that your command line shows')}
<p><button>Yes, sign it in</button></p>
</form>`,
  );
}

export function donePage(): string {
  return page('You are signed in', '<p>Return to the command line. You can close this page.</p>');
}

function codeField(label: string): string {
  return `<p><label for="user_code">${label}</label></p>
<p><input id="user_code" name="user_code" required maxlength="16" autocomplete="off" autocapitalize="characters" spellcheck="false" autofocus></p>`;
}

function hiddenField(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${escaped(value)}">\n`;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
