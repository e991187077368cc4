import type { Kernel } from '../../kernel/request/kernel.ts';
import { hasFactor } from '../mfa/factors/index.ts';
import { onlyUser } from '../users/storage/index.ts';

/** Whether nobody can sign in yet except with the token of the first start. Once somebody can, it is not looked up again. */
export class FirstStart {
  readonly #kernel: Pick<Kernel, 'database' | 'operatorTenantId'>;
  #isOver = false;

  constructor(kernel: Pick<Kernel, 'database' | 'operatorTenantId'>) {
    this.#kernel = kernel;
  }

  async isNow(): Promise<boolean> {
    if (this.#isOver) return false;
    const { database, operatorTenantId } = this.#kernel;
    const owner = await onlyUser(database.read);
    const isNow = owner?.password_hash === '' && !(await hasFactor(database.read, operatorTenantId, owner.user_id));
    this.#isOver = !isNow;
    return isNow;
  }
}
