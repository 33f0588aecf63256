"""From botocore's errors to the project's: what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore import exceptions as boto
from tracemill_schema.errors import StoreBusyError, StoreError, TracemillError

_NO_CREDENTIALS = (
    boto.NoCredentialsError,
    boto.PartialCredentialsError,
    boto.CredentialRetrievalError,
    boto.ProfileNotFound,
    boto.SSOError,
    boto.TokenRetrievalError,
)
_REFUSED = {"AccessDenied", "AccessDeniedException", "AllAccessDisabled", "Forbidden", "403"}
_BAD_CREDENTIALS = {
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidAccessKeyId",
    "InvalidToken",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
}
_MISSING = {"NoSuchKey", "404", "NotFound"}
_BUSY = {
    "500",
    "502",
    "503",
    "504",
    "InternalError",
    "InternalServiceException",
    "InternalFailure",
    "RequestLimitExceeded",
    "RequestTimeout",
    "RequestTimeTooSkewed",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "ThrottledException",
    "ThrottlingException",
    "TooManyRequestsException",
}
_NO_ANSWER = (boto.HTTPClientError, boto.ConnectionError, boto.IncompleteReadError)
_ELSEWHERE = {"PermanentRedirect", "301", "AuthorizationHeaderMalformed"}


@contextmanager
def translated(store: str, what: str = "") -> Iterator[None]:
    """Turn botocore's errors inside the block into StoreErrors that name the store and ``what``."""
    try:
        yield
    except (boto.ClientError, boto.BotoCoreError) as error:
        raise translate(error, store, what) from error


def is_busy(error: Exception) -> bool:
    """Tell whether the same call to an AWS service may do later: throttling, no answer."""
    if isinstance(error, boto.ClientError):
        return error_code(error) in _BUSY
    return isinstance(error, _NO_ANSWER)


def error_code(error: boto.ClientError) -> str:
    """Return the code of a service's answer, for example ``NoSuchKey``."""
    return str(error.response.get("Error", {}).get("Code", ""))


def translate(error: Exception, store: str, what: str = "") -> TracemillError:
    """Return the StoreError for an error of botocore."""
    place = f"{what} in {store}" if what else f"store {store}"
    if isinstance(error, _NO_CREDENTIALS):
        return StoreError(
            f"{place}: no AWS credentials: run 'aws configure' or set AWS_PROFILE ({error})"
        )
    if isinstance(error, boto.ClientError):
        return _from_answer(error, place, store)
    if isinstance(error, boto.ParamValidationError):
        return StoreError(f"{place}: not a usable name ({str(error).splitlines()[-1].strip()})")
    if isinstance(error, _NO_ANSWER):
        return StoreBusyError(f"{place}: no connection to S3 ({error})")
    return StoreError(f"{place}: {error}")


def _from_answer(error: boto.ClientError, place: str, store: str) -> TracemillError:
    code = error_code(error)
    message = str(error.response.get("Error", {}).get("Message", ""))
    if code == "NoSuchBucket":
        return StoreError(f"store {store}: no such bucket")
    if code in _MISSING:
        return StoreError(f"{place}: no such object")
    if code in _REFUSED:
        action = error.operation_name
        return StoreError(f"{place}: no access: these AWS credentials may not {action} there")
    if code in _BAD_CREDENTIALS:
        return StoreError(f"{place}: the AWS credentials are refused ({code}): renew them")
    if code in _BUSY:
        return StoreBusyError(f"{place}: S3 is busy ({code}): try again")
    if code in _ELSEWHERE:
        return StoreError(f"{place}: the bucket is in another region: set AWS_REGION ({message})")
    return StoreError(f"{place}: S3 refuses {error.operation_name}: {code} {message}".rstrip())
