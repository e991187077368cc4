export const homeTexts = {
  title: 'Start',
  welcomeTitle: 'Welcome to Coffer',
  welcomeText: 'There is nothing in this organization yet. Two things to do next:',
  noVaults: 'No vault is shared with you yet. Ask somebody who manages one to make you a member of it.',
  firstVault: '1. Put secrets into a vault',
  firstVaultText: 'A vault holds the secrets of one service in one environment. You can paste a whole .env file.',
  createVault: 'Create a vault',
  firstPeople: '2. Give a colleague or a service access',
  nextPeople: 'Next: give a colleague or a service access',
  dismissGuide: 'Not now',
  firstPeopleText: 'Invite a person, or connect a service that reads its secrets with its own identity.',
  invite: 'Invite somebody',
  connect: 'Connect a service',
  firstToken: 'The first admin token still works.',
  firstTokenText:
    'It was made when this organization was set up, and may do all that you may, without a password or second factor. The first start writes it to the file admin.token. You can sign in without it, so revoke it, and delete the file. Whoever runs the service can make a new one if it is ever needed.',
  firstTokenRevoke: 'Revoke it in My account',
  decided: (count: number) => (count === 1 ? 'Your request was decided' : `${count} of your requests were decided`),
  decidedSeen: 'Put away',
  nothing: 'Nothing needs you',
  nothingText:
    'What waits for you appears here: changes to approve, unusual events, failed or due rotations, certificates that end.',
  approvals: (count: number, max: number) => `${some(count, max)} waiting for approval`,
  ownRequests: 'Your requests that wait',
  anomalies: (count: number, max: number) => `${some(count, max)} unusual ${count === 1 ? 'event' : 'events'}`,
  failedRotations: (count: number, max: number) => `${some(count, max)} failed ${rotations(count)}`,
  failedRotationsHint: 'The service could not replace the password. The old one is still in use.',
  dueRotations: (count: number, max: number) => `${some(count, max)} ${rotations(count)} due`,
  dueRotationsHint: (days: number) => `The service replaces these values by itself within ${days} days.`,
  ending: (count: number, max: number) =>
    `${some(count, max)} ${count === 1 ? 'certificate ends' : 'certificates end'}`,
  endingHint: (days: number) => `Within ${days} days, or lately. Store a new one before that.`,
  exporters: (count: number, max: number) =>
    `${some(count, max)} ${count === 1 ? 'copy' : 'copies'} of the audit log not delivered`,
  vaults: 'Your vaults',
  seeAll: 'See all',
  showAll: (count: number, max: number) => `Show ${count >= max ? `the first ${max}` : `all ${count}`}`,
} as const;

function some(count: number, max: number): string {
  return count >= max ? `${max} or more` : String(count);
}

function rotations(count: number): string {
  return count === 1 ? 'rotation' : 'rotations';
}
