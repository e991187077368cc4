import { CofferError } from '../../../kernel/base/errors.ts';
import { REFERENCES_MAX } from '../value/reference-text.ts';

/** A secret by the names that references use. */
export interface Named {
  vault: string;
  path: string;
}

const REASONS = {
  missing: 'which does not exist: write it, or change the template',
  fortress: 'which is a fortress secret, and those are only read by themselves',
  zero_knowledge: 'which is in a zero-knowledge vault, where the service reads no values',
  environment: 'whose environment does not fit that of the template',
  too_deep: 'which is a template in a template in a template: one level is resolved',
  too_many: `but it is made of more than ${REFERENCES_MAX} secrets together with those of the templates in it`,
  too_large: 'but the text together would be larger than 1 MiB',
  no_field: 'whose value has no such field, or is not JSON',
} as const;

export type UnresolvedReason = keyof typeof REASONS | 'unreadable';

/** Why a template cannot be resolved for this caller. */
export class TemplateProblem extends CofferError {
  readonly reason: UnresolvedReason;

  private constructor(reason: UnresolvedReason, error: CofferError) {
    super(error.code, error.message, { details: error.details, auditReason: error.auditReason });
    this.reason = reason;
  }

  /** The same, saying which of several templates it is about. */
  inTemplate({ vault, path }: Named): TemplateProblem {
    const message = this.message.replace(/^The template/, `The template ${vault}/${path}`);
    const { details, auditReason } = this;
    const error = new CofferError(this.code, message, {
      details: details && { ...details, template: `${vault}/${path}` },
      auditReason,
    });
    return new TemplateProblem(this.reason, error);
  }

  static of(reason: keyof typeof REASONS, { vault, path }: Named): TemplateProblem {
    const message = `The template refers to ${vault}/${path}, ${REASONS[reason]}.`;
    const details = { reason, vault, path };
    return new TemplateProblem(reason, new CofferError('TEMPLATE_UNRESOLVED', message, { details }));
  }

  /** The same whether or not there is such a secret. The caller may read the template, so its text is no news. */
  static unreadable(action: string, { vault, path }: Named): TemplateProblem {
    const message = `The template refers to ${vault}/${path}, which you may not read or which does not exist: this takes ${action} on everything that it refers to. With resolve=false you get it as it is written.`;
    const auditReason = `${action}: a part of the template may not be read`;
    return new TemplateProblem('unreadable', new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason }));
  }
}
