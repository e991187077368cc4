export const fortressSecretTexts = {
  instead:
    'To go on now, save it as an ordinary secret: it is encrypted too, but can be read without a second factor. You can make it a fortress secret later, on its page.',
  raise: 'Make it a fortress secret',
  raised: 'It is a fortress secret now.',
  raisedReason: 'Made a fortress secret',
  raiseMeans: [
    'From now on, anyone who reads or changes it needs a second factor that is at least a day old. The same applies to its older versions.',
    'Programs and personal access tokens no longer get it. Only a connection that uses a client certificate and DPoP does.',
    'It is left out of exports, composed environments, clusters, search and comparisons.',
    'Its value stays the same. If you do not know who read it before, rotate it afterwards.',
  ],
  raiseForGood: 'This cannot be undone. To go back, write the value to a new secret and delete this one.',
} as const;
