/** Messages beside the fields of a form that the service did not accept. */
export const problemTexts = {
  marked: 'This was not accepted. Correct what is marked and send it again.',
  notAccepted: 'This was not accepted.',
  nameForm: 'Use letters, digits, dots, dashes and underscores; no spaces. The first is a letter or digit.',
  entry: (number: number) => `entry ${number}`,
  /** Reasons of the service that mean little to somebody who does not see the request. */
  reasons: [
    [/^is required$/, 'fill this in'],
    [/^must not have fewer than 1 (characters|items)$/, 'fill this in'],
    [/^must not have more than (\d+) characters$/, 'this is too long: $1 characters at most'],
    [/^does not have the required format$/, 'this does not have the form that is needed here'],
    [/^does not have one of the allowed formats$/, 'this does not have a form that is allowed here'],
    [/^is not a known field$/, 'this is not known here'],
    [/^must be (integer|number)$/, 'write a number'],
    [/^must be >= (\d+)$/, 'this number is too small: $1 at least'],
    [/^must be <= (\d+)$/, 'this number is too large: $1 at most'],
  ] as readonly (readonly [RegExp, string])[],
  /**
   * Messages of the service that speak to somebody who writes requests, and what is said instead of the part that matches. Requests that a message
   * names after these are left out.
   */
  messages: [
    [/^\S+ cannot be reached.*$/, 'The service does not respond. What you typed is still here: try again in a moment.'],
    [
      /^\S+ did not answer in time\. .*$/,
      'The service did not respond in time. Whether a change was made is not known: load the page again before you repeat it.',
    ],
    [/^Your credential does not permit \S+ at the destination\.$/, 'You may not create secrets at the destination.'],
    [
      /^Your credential does not permit .* on all of these paths\.$/,
      'You may not write all of these secrets: you lack the right to create or change some of them.',
    ],
    [
      /^Your credential does not permit .*$/,
      'You may not do this: your role and the policies for you do not allow it. An administrator can change that.',
    ],
    [
      /^Access to this secret without mTLS and DPoP requires .*$/,
      'This is a fortress secret. It takes a second factor that you showed within the last 15 minutes and that is at least a day old.',
    ],
    [/^[^"]*"Authorization: Bearer.*$/, 'This token is not accepted: it is wrong, was revoked, or has expired.'],
    [
      /^Your organization requires a second factor\. .*$/,
      'Your organization requires a second factor. Add a passkey or an authenticator app under My account, and sign in with it.',
    ],
    [
      /^You have no second factor: .*$/,
      'You have no second factor. Add a passkey or an authenticator app under My account.',
    ],
    [
      /^The digest does not match this approval: .*$/,
      'The request is no longer what you saw. Load the page again, and look at it before you decide.',
    ],
    [
      /^You need app_connections:update on a connection .*$/,
      'A login method can be added only by somebody who may change the connection. Ask an administrator.',
    ],
    [
      /requires policies:attach on each policy attached to it\.$/,
      'takes the right to attach each policy that is attached to it. Ask an administrator.',
    ],
    [/requires members:add on the vault: /, 'takes the right to add members to the vault: '],
    [/this takes secrets:read on all of them\.$/, 'you would need the right to read all of them.'],
    [/ask someone with secrets:read on it to make the change\.$/, 'ask somebody who may read it to make the change.'],
    [/send "promote": true or "environment": "production"\.$/, 'only secrets of production can be in it.'],
    [
      /^There is no default generator for type \S+: add a "generator" to the rotation\.$/,
      'The service cannot make up values of this type, and this secret is rotated automatically. Stop that first.',
    ],
    [/for a member, someone with users:update\./, 'for a member, somebody who may change people.'],
    [
      /^A secret already exists at this path: use PUT to change it\.$/,
      'There is a secret at this path already: open it to write a new version.',
    ],
    [/; see break_glass:\S+ in the audit log\.$/, '; the audit log has more.'],
  ] as readonly (readonly [RegExp, string])[],
} as const;
