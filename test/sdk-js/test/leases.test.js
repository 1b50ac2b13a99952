// The table of lease operations, cell by cell, on blobs and on containers.

import { before, describe, test } from 'node:test';
import * as azure from '../lib/client.js';
import { cells, check, expectState, expiry, leasesOf, states } from '../lib/leases.js';

/** How each kind of resource is made. */
const kinds = {
  blob: async () => azure.newBlob(await shared),
  container: () => azure.newContainer(),
};
const shared = azure.newContainer();

for (const [kind, make] of Object.entries(kinds)) {
  for (const state of ['available', 'leased', 'breaking', 'broken']) {
    describe(`lease on a ${kind} that is ${state}`, { concurrency: 4 }, () => {
      for (const cell of cells.filter((c) => c.state === state)) {
        test(cell.operation, async () => {
          const resource = await make();
          await states[state](leasesOf(resource));
          await expectState(resource, state, `before ${cell.operation}`);
          await check(resource, cell);
        });
      }
    });
  }
}

describe('lease that has expired', () => {
  const expired = [];
  before(async () => {
    for (const [kind, make] of Object.entries(kinds)) {
      for (const cell of cells.filter((c) => c.state === 'expired')) expired.push({ kind, cell, resource: await make() });
    }
    await Promise.all(expired.map(({ resource }) => states.expired(leasesOf(resource))));
    await expiry();
  });
  for (const kind of Object.keys(kinds)) {
    for (const cell of cells.filter((c) => c.state === 'expired')) {
      test(`${cell.operation} on a ${kind}`, async () => {
        const { resource } = expired.find((e) => e.kind === kind && e.cell === cell);
        await expectState(resource, 'expired', `before ${cell.operation}`);
        await check(resource, cell);
      });
    }
  }
});
