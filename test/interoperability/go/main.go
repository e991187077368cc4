// Vaults and secrets by the client that oapi-codegen makes. Prints what it did, as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"

	"roundtrip/generated"
)

type object = map[string]any

func main() {
	var given struct{ BaseUrl, Token, TenantId, Vault string }
	check(json.NewDecoder(os.Stdin).Decode(&given))
	bearer := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+given.Token)
		return nil
	}
	api, err := generated.NewClientWithResponses(given.BaseUrl, generated.WithRequestEditorFn(bearer))
	check(err)
	ctx, name, path := context.Background(), given.Vault, "db/password"

	staging, tags := "staging", []string{"generated"}
	vault, err := api.CreateVaultWithResponse(ctx, nil, generated.CreateVaultInput{Name: name, Environment: &staging, Tags: &tags})
	check(err)

	value := "hunter2"
	created, err := api.CreateSecretWithResponse(ctx, name, &generated.CreateSecretParams{IdempotencyKey: &name}, generated.CreateSecretInput{Path: path, Value: &value})
	check(err)
	read, err := api.ReadSecretWithResponse(ctx, name, path, nil)
	check(err)
	if created.JSON201.SecretId != read.JSON200.SecretId || read.JSON200.SecretId <= math.MaxInt32 {
		panic("the number of a secret takes more than 32 bits")
	}

	tag, version := []string{"new"}, "\"v1\""
	changed, err := api.UpdateSecretWithResponse(ctx, name, path, &generated.UpdateSecretParams{IfMatch: &version}, generated.UpdateSecretInput{Metadata: &generated.SecretMetadataChange{Tags: &tag}})
	check(err)
	list, err := api.ListSecretsWithResponse(ctx, name, &generated.ListSecretsParams{Tags: &tag})
	check(err)
	listed := []string{}
	for _, one := range list.JSON200.Secrets {
		listed = append(listed, one.Path)
	}
	deleted, err := api.DeleteSecretWithResponse(ctx, name, path, nil)
	check(err)

	missing, err := api.ReadSecretWithResponse(ctx, name, path, nil)
	check(err)
	invalid, err := api.CreateVaultWithResponse(ctx, nil, generated.CreateVaultInput{Name: "not a name"})
	check(err)
	revoked, err := api.ReadRevocationListDerWithResponse(ctx, given.TenantId, nil)
	check(err)

	check(json.NewEncoder(os.Stdout).Encode(object{
		"vault":   object{"id": vault.JSON201.Id, "name": vault.JSON201.Name, "environment": vault.JSON201.Environment},
		"secret":  object{"path": read.JSON200.Path, "version": read.JSON200.Version, "value": read.JSON200.Value},
		"tags":    changed.JSON200.Metadata.Tags,
		"listed":  listed,
		"deleted": deleted.JSON200.Deleted,
		"missing": refusal(missing.StatusCode(), missing.Body),
		"invalid": refusal(invalid.StatusCode(), invalid.Body),
		"text":    nil,
		"binary":  object{"size": len(revoked.Body), "first": revoked.Body[0]},
	}))
}

func refusal(status int, body []byte) object {
	var refused generated.Error
	check(json.Unmarshal(body, &refused))
	pointers := []string{}
	if details := refused.Error.Details; details != nil && details.Fields != nil {
		for _, field := range *details.Fields {
			pointers = append(pointers, field.Pointer)
		}
	}
	return object{"status": status, "code": refused.Error.Code, "message": refused.Error.Message, "request_id": refused.Error.RequestId, "pointers": pointers}
}

func check(err error) {
	if err != nil {
		panic(fmt.Sprint(err))
	}
}
