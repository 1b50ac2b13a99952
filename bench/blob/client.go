package main

import (
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

// The development account and the key that Microsoft publishes for it.
const (
	account = "devstoreaccount1"
	key     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// connect returns Azure's client for a server, as the SDK makes it, except that a
// failure is a failure: retries would be counted as one slow call.
func connect(address string) (*service.Client, error) {
	credential, err := service.NewSharedKeyCredential(account, key)
	if err != nil {
		return nil, err
	}
	return service.NewClientWithSharedKeyCredential("http://"+address+"/"+account, credential, &service.ClientOptions{
		ClientOptions: azcore.ClientOptions{
			Retry: policy.RetryOptions{MaxRetries: -1},
		},
	})
}
