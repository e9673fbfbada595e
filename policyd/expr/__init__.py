"""Expression languages and what else is written as text inside a policy.

cel: the default language.  jmes: JMESPath.  message: texts with `{{ ... }}`.
shape: JSON Schemas for payloads.  None of them knows a policy file.
"""
