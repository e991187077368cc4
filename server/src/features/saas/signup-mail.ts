import type { Message } from '../mail/index.ts';

/** Mail to somebody who may not have asked for it, so it repeats nothing that the sender of the request chose. */
export function verificationMail(to: string, baseUrl: string, token: string): Message {
  return {
    to,
    subject: 'Verify your e-mail address for Coffer',
    paragraphs: [
      'Somebody signed up for Coffer with this address. If it was you, verify the address within 24 hours by sending this token, and the password that you signed up with:',
      { copy: token },
      'For example, put this into a file verify.json:',
      { copy: `{"token": "${token}",\n "password": "the password of the sign-up"}` },
      'and send it:',
      { copy: `curl ${baseUrl}/saas/verify \\\n  -H 'Content-Type: application/json' -d @verify.json` },
      'If you forgot the password, write a new one, and add "replace_password": true.',
      'If it was not you, ignore this mail: without the token nothing is created, and the sign-up is deleted.',
    ],
  };
}

export function existingAccountMail(to: string, baseUrl: string): Message {
  return {
    to,
    subject: 'You already have an account at Coffer',
    paragraphs: [
      'Somebody signed up for Coffer with this address, which already has an account. Nothing was created or changed.',
      `If it was you, log in with the account that you have, at POST ${baseUrl}/auth/login. If you forgot the password, an admin of your organization can set a new one.`,
      'If it was not you, there is nothing to do.',
    ],
  };
}
