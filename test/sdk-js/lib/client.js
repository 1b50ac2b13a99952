// Azure's SDK as a client of the server under test.

import { randomUUID } from 'node:crypto';
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob';

/** The development account and the key that Microsoft publishes for it. */
export const account = 'devstoreaccount1';
export const key = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
export const credential = new StorageSharedKeyCredential(account, key);

export const blobURL = process.env.LEASEHOLD_BLOB_URL ?? `http://127.0.0.1:10000/${account}`;

/** A first failure is a failure: the SDK's own retries would hide it. */
export const options = { retryOptions: { maxTries: 1 } };

export const connectionString = (url = blobURL) =>
  `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};BlobEndpoint=${url};`;

export const service = new BlobServiceClient(blobURL, credential, options);

/** A client without a key: a URL may carry a SAS. */
export const clientWithoutKey = (url) => new BlobServiceClient(url, undefined, options);

export const uniqueName = (prefix = 'c') => `${prefix}-${randomUUID()}`;

/** A new, empty container that no other test knows. */
export async function newContainer(createOptions) {
  const container = service.getContainerClient(uniqueName());
  await container.create(createOptions);
  return container;
}

/** A new block blob with a text in it. */
export async function newBlob(container, name = uniqueName('blob'), text = 'hello', uploadOptions) {
  const blob = container.getBlockBlobClient(name);
  await blob.upload(text, Buffer.byteLength(text), uploadOptions);
  return blob;
}

/** Replaces a blob's content with a text. */
export const write = (blob, text, uploadOptions) => blob.upload(text, Buffer.byteLength(text), uploadOptions);

/** A blob's content as text. */
export async function read(blob, offset, count, downloadOptions) {
  const answer = await blob.download(offset, count, downloadOptions);
  const pieces = [];
  for await (const piece of answer.readableStreamBody) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** Everything that an asynchronous iterator has. */
export async function collect(iterator) {
  const all = [];
  for await (const item of iterator) all.push(item);
  return all;
}
