import type { Message } from '../mail/index.ts';

/** Mail to somebody who may not have requested it, so it repeats nothing that the sender of the request chose. */
export function verificationMail(
  to: string,
  { baseUrl, token, hasAccount }: { baseUrl: string; token: string; hasAccount: boolean },
): Message {
  return {
    to,
    subject: 'Verify your e-mail address for Coffer',
    paragraphs: [
      ...(hasAccount
        ? [
            `This address already has an account at Coffer. If you only want to log in, use that one, at POST ${baseUrl}/auth/login; if you forgot its password, an admin of that organization can set a new one. What follows makes an organization of your own beside it.`,
          ]
        : []),
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
