import { bind, type Handler } from '../../../kernel/request/binding.ts';
import { type JoinedEndpoint, joinable } from '../../../kernel/request/joined-requests.ts';
import { createSecret, deleteSecret, moveSecret, rollbackSecret, rotateSecret, updateSecret } from '../contract.ts';
import type { ChangeOperation } from '../schemas.ts';

/** The endpoint for each change by itself. */
export type SingleChanges = Readonly<Record<ChangeOperation, JoinedEndpoint>>;

/** The handlers of the endpoints whose requests can be one of several changes. */
export interface SingleHandlers {
  create: Handler<typeof createSecret>;
  update: Handler<typeof updateSecret>;
  delete: Handler<typeof deleteSecret>;
  move: Handler<typeof moveSecret>;
  rotate: Handler<typeof rotateSecret>;
  rollback: Handler<typeof rollbackSecret>;
}

export function singleChanges(handlers: SingleHandlers): SingleChanges {
  return {
    create: joinable(bind(createSecret, handlers.create)),
    update: joinable(bind(updateSecret, handlers.update)),
    delete: joinable(bind(deleteSecret, handlers.delete)),
    move: joinable(bind(moveSecret, handlers.move)),
    rotate: joinable(bind(rotateSecret, handlers.rotate)),
    rollback: joinable(bind(rollbackSecret, handlers.rollback)),
  };
}
