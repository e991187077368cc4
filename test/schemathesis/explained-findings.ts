/** A finding of schemathesis that is no fault, with the reason. What is not listed fails the run. */
export interface ExplainedFinding {
  /** As `st explain` knows it. */
  code: string;
  /** Matched against what schemathesis expected, and the message of the answer: the rule that it came upon. */
  says: RegExp;
  reason: string;
}

const INVALID_AND_ACCEPTED = 'ST201';
const VALID_AND_REJECTED = 'ST202';
const CREATED_AND_NOT_FOUND = 'ST302';

export const EXPLAINED_FINDINGS: readonly ExplainedFinding[] = [
  {
    code: INVALID_AND_ACCEPTED,
    says: /^Invalid component: parameter `tags` in query - violates `anyOf` at \/properties\/tags$/m,
    reason: 'A query is text: a number in the place of a list of texts arrives as a list of one text.',
  },
  {
    code: VALID_AND_REJECTED,
    says: /exactly one of|send one of the two|: give one\.|needs policy, document or principal|needs value, metadata or rotation|or digest must say what is signed|or public_key must say whose|the credential of one type of method|has no effect beside a backend|is not asked of deleted secrets|is chosen by the person who is invited/,
    reason:
      'Which fields go together is a rule of the service: `oneOf` could say so, and generators make no usable type of it.',
  },
  {
    code: VALID_AND_REJECTED,
    says: /id_token is required, here|current_password is required|config\/\w+ is required|or vault_ids must say|^Nothing says how to make a value/m,
    reason: 'Whether it is required depends on another field, on a header, or on what is stored.',
  },
  {
    code: VALID_AND_REJECTED,
    says: /Write an (?:address|action)|Use letters, digits|must be the beginning of a path|must be (?:\d+ bytes in )?base64|certificates in PEM|\/body\/document (?:is no|has|must)|\/(?:to_)?path must (?:have|not have|not be empty|not end)/,
    reason:
      'The form is checked by the parser that uses the text, whose reason tells more than that a pattern does not match.',
  },
  {
    code: VALID_AND_REJECTED,
    says: /is not a composed environment of yours|is where the secret is already|is reserved|never changes|needs a KMS|is not a cursor of this list/,
    reason: 'It depends on what is stored, or on how the service is set up, which no schema knows.',
  },
  {
    code: VALID_AND_REJECTED,
    says: /^The ciphertext could not be opened\.$/m,
    reason: 'A made-up envelope has the form of one and was sealed by nobody.',
  },
  {
    code: CREATED_AND_NOT_FOUND,
    says: /`POST \/v1\/vaults`[\s\S]*^There is no such vault\.$/m,
    reason: 'In a path a vault is called by its name; schemathesis infers that it is called by its id.',
  },
];
