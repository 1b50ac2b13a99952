// Batches of deletions.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';
import { A } from '../lib/leases.js';

test('a batch deletes what it can, and says what it could not', async () => {
  const container = await azure.newContainer();
  const [gone, leased, kept] = await Promise.all(['gone', 'leased one', 'kept/ä'].map((name) => azure.newBlob(container, name)));
  await leased.getBlobLeaseClient(A).acquireLease(60);
  await kept.createSnapshot();
  const nowhere = container.getBlobClient('nowhere');
  const answer = await azure.service.getBlobBatchClient().deleteBlobs([gone, leased, kept, nowhere]);
  assert.deepEqual(
    answer.subResponses.map((r) => `${r.status} ${r.errorCode ?? ''}`.trim()),
    ['202', '412 LeaseIdMissing', '409 SnapshotsPresent', '404 BlobNotFound'],
  );
  assert.equal(answer.subResponsesSucceededCount, 1);
  assert.equal(answer.subResponsesFailedCount, 3);
  const left = (await azure.collect(container.listBlobsFlat())).map((b) => b.name);
  assert.deepEqual(left, ['kept/ä', 'leased one']);
});

test('a batch has the options of a single deletion', async () => {
  const container = await azure.newContainer();
  const blobs = await Promise.all(['a', 'b'].map((name) => azure.newBlob(container, name)));
  for (const blob of blobs) await blob.createSnapshot();
  const answer = await azure.service.getBlobBatchClient().deleteBlobs(blobs, { deleteSnapshots: 'include' });
  assert.equal(answer.subResponsesSucceededCount, 2);
  assert.deepEqual(await azure.collect(container.listBlobsFlat({ includeSnapshots: true })), []);
});

test('a batch may be of one container', async () => {
  const container = await azure.newContainer();
  const blobs = await Promise.all(Array.from({ length: 20 }, (_, i) => azure.newBlob(container, `n${i}`)));
  const answer = await container.getBlobBatchClient().deleteBlobs(blobs);
  assert.equal(answer.subResponsesSucceededCount, 20);
});

test('each part of a batch is signed for itself', async () => {
  const container = await azure.newContainer();
  const blob = await azure.newBlob(container, 'a');
  const anonymous = azure.clientWithoutKey(azure.blobURL).getContainerClient(container.containerName).getBlobClient('a');
  const answer = await azure.service.getBlobBatchClient().deleteBlobs([anonymous]);
  assert.equal(answer.subResponsesFailedCount, 1, 'an unsigned part of a signed batch was obeyed');
  assert.ok([401, 403, 404].includes(answer.subResponses[0].status), `status ${answer.subResponses[0].status}`);
  assert.equal(await blob.exists(), true);
  await refused(container.getBlobClient('b').delete(), 404, 'BlobNotFound');
});
