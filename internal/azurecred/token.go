package azurecred

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// RedisScope is what a token for Azure's Redis is good for.
const RedisScope = "https://redis.azure.com/.default"

// RedisToken gets a token that serves as a password for Azure's Redis. The
// credential keeps it until shortly before its end.
func RedisToken(ctx context.Context, credential azcore.TokenCredential) (token string, expires time.Time, err error) {
	t, err := credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{RedisScope}})
	return t.Token, t.ExpiresOn, err
}

// ObjectID returns whose token it is, which is the user's name in Azure's Redis, or
// "" of a token that does not say. The service checks the token; nothing here
// depends on it.
func ObjectID(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		ObjectID string `json:"oid"`
	}
	if json.Unmarshal(text, &claims) != nil {
		return ""
	}
	return claims.ObjectID
}
