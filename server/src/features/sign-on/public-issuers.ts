/**
 * Issuers at which anybody can make an account, or any organization has its people. No list of them can be complete: an issuer that is not here counts
 * as one organization's own.
 */
const PUBLIC_HOSTS: readonly string[] = [
  'accounts.google.com',
  'appleid.apple.com',
  'login.live.com',
  'gitlab.com',
  'github.com',
  'login.salesforce.com',
  'test.salesforce.com',
  'slack.com',
  'api.login.yahoo.com',
  'auth.atlassian.com',
  'id.twitch.tv',
  'www.facebook.com',
  'www.linkedin.com',
  'www.paypal.com',
  'discord.com',
];
/** Entra names the directory in its issuer. These stand for all of them, or for personal accounts. */
const MICROSOFT_HOST = 'login.microsoftonline.com';
const SHARED_DIRECTORIES: readonly string[] = [
  'common',
  'organizations',
  'consumers',
  '9188040d-6c67-4c5b-b112-36a304b66dad',
];

export function isPublicIssuer(issuer: string): boolean {
  const { hostname, pathname } = new URL(issuer);
  if (PUBLIC_HOSTS.includes(hostname)) return true;
  const [, directory = ''] = pathname.split('/');
  return hostname === MICROSOFT_HOST && SHARED_DIRECTORIES.includes(directory.toLowerCase());
}
