export const fortressTexts = {
  refused: {
    secret: {
      title: 'Why this fortress secret is refused',
      rule: 'To read or write a fortress secret takes a second factor that you showed within the last 15 minutes and that is at least a day old. So whoever steals a password gains nothing by adding a factor of their own.',
    },
    trust: {
      title: 'Why you cannot approve this yet',
      rule: 'To trust a new second factor takes one of your own that you showed within the last 15 minutes and that is at least a day old. So whoever steals a password gains nothing by adding a factor of their own.',
    },
  },
  none: 'You have no second factor yet. It opens fortress secrets a day after you add it.',
  addFactor: 'Add a second factor',
  isNew: 'Your second factors are less than a day old.',
  opensFrom: (what: string) => `${what} opens fortress secrets`,
  opensNow: (what: string) => `${what} opens fortress secrets now.`,
  opens: 'opens fortress secrets',
  opensLater: 'Opens fortress secrets',
  whyLater: 'A second factor opens fortress secrets a day after it was added, or once administrators trust it.',
  app: 'Your authenticator app',
  passkey: (name: string) => `The passkey ${name}`,
  ready: 'These open it. Show one of them, and try again:',
  show: 'Show a second factor',
  shown: 'Shown. Try again now.',
  askText:
    'You need not wait if two administrators, or the only one there is, have a factor that is at least a day old: they can trust yours at once. On the first day of an installation nobody can.',
  askNobody:
    'Nobody else here could trust it earlier, because you are the only owner or admin. It works by itself from then on.',
  ask: 'Ask the administrators to trust it',
  asked: 'Your request waits for the administrators.',
  openRequest: 'See the request',
  mine: 'What you have:',
  tooEarly: 'You cannot write a fortress secret yet',
  instead:
    'To go on now, write it without Fortress: it is encrypted as well, and nobody is asked for a second factor. That cannot be changed later; you would write a new secret then.',
} as const;
