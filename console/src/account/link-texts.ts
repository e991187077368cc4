export const linksTexts = {
  title: 'Single sign-on',
  intro:
    'Link your account with your identity at a provider of your organization. Then you sign in with either. Your role and groups follow the provider, unless you are an owner.',
  provider: 'Provider',
  since: 'Linked',
  notLinked: 'not linked',
  link: 'Link',
  linkWith: (provider: string) => `Link with ${provider}`,
  linkText:
    'You sign in at the provider, and from then on with either. Your organization then decides there, and by SCIM, which role and groups you have and whether your account stays active, unless you are an owner.',
  unlink: 'Unlink',
  unlinkFrom: (provider: string) => `Unlink ${provider}`,
  unlinkText: 'You can no longer sign in with it, and your other sessions that began there end.',
  unlinked: (provider: string) => `${provider} is unlinked.`,
  linking: 'Your account is being linked …',
  linked: (provider: string) => `You can sign in with ${provider} now.`,
  failed: 'Your account was not linked',
  back: 'Go to my account',
} as const;
